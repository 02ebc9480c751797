/**
 * Source text that writes the value of one column slice b[p, q), n bytes long, for each wire form and schema type; see generate.ts for the variables.
 * Every length is checked against the form before a byte is read.
 */
import type { SchemaType } from '../data/index.ts';
import type { ColumnWire } from './layout.ts';
import { fractionBytes, packedDecimalBytes } from './packed.ts';
import { RowFault } from './rowErrors.ts';

export interface ColumnSource {
  readonly source: string;
  /** Upper bound of what it writes, slices not counted. */
  readonly fixedBytes: number;
}

/** Null where no value of the schema type has this form. `scale` is a Decimal schema's; `linear` and `names` are places in the program's lists. */
export function columnSource(
  wire: ColumnWire,
  type: SchemaType,
  scale: number | null,
  column: number,
  linear: number,
  names: number,
): ColumnSource | null {
  const fail = (fault: RowFault): string => `fail(${fault},${column},i);`;
  const length = (bytes: number): string => `if(n!==${bytes})${fail(RowFault.columnLength)}`;
  const narrow = type === 'INT8' ? 24 : type === 'INT16' ? 16 : 0;
  const small = type === 'INT8' || type === 'INT16' || type === 'INT32';
  /** x, an int32, as the type; `bits` is what is known of it. */
  const writeSmall = (bits: number): string =>
    32 - narrow < bits
      ? `if(x!==x<<${narrow}>>${narrow})${fail(RowFault.outOfRange)}w=writeInt(o,w,x);`
      : 'w=writeInt(o,w,x);';

  switch (wire.wire) {
    case 'skip':
    case 'function':
      return null;
    case 'int16be':
      if (!small && type !== 'INT64') return null;
      return { source: `${length(2)}x=bv.getInt16(p);${writeSmall(16)}`, fixedBytes: 3 };
    case 'int32be':
      if (!small && type !== 'INT64') return null;
      return { source: `${length(4)}x=bv.getInt32(p);${writeSmall(32)}`, fixedBytes: 5 };
    case 'int64be':
      if (type === 'INT64')
        return { source: `${length(8)}w=writeLong(o,w,bv.getInt32(p+4),bv.getInt32(p));`, fixedBytes: 10 };
      if (!small) return null;
      return {
        source: `${length(8)}x=bv.getInt32(p+4);if(bv.getInt32(p)!==x>>31)${fail(RowFault.outOfRange)}${writeSmall(32)}`,
        fixedBytes: 5,
      };
    case 'float32be':
      if (type === 'FLOAT32') return { source: `${length(4)}v.setInt32(w,bv.getInt32(p),true);w+=4;`, fixedBytes: 4 };
      if (type !== 'FLOAT64') return null;
      return { source: `${length(4)}v.setFloat64(w,bv.getFloat32(p),true);w+=8;`, fixedBytes: 8 };
    case 'float64be':
      if (type === 'FLOAT64')
        return {
          source: `${length(8)}v.setInt32(w,bv.getInt32(p+4),true);v.setInt32(w+4,bv.getInt32(p),true);w+=8;`,
          fixedBytes: 8,
        };
      if (type !== 'FLOAT32') return null;
      return { source: `${length(8)}v.setFloat32(w,bv.getFloat64(p),true);w+=4;`, fixedBytes: 4 };
    case 'float32le':
      if (type === 'FLOAT32')
        return { source: `${length(4)}v.setInt32(w,bv.getInt32(p,true),true);w+=4;`, fixedBytes: 4 };
      if (type !== 'FLOAT64') return null;
      return { source: `${length(4)}v.setFloat64(w,bv.getFloat32(p,true),true);w+=8;`, fixedBytes: 8 };
    case 'float64le':
      if (type === 'FLOAT64')
        return {
          source: `${length(8)}v.setInt32(w,bv.getInt32(p,true),true);v.setInt32(w+4,bv.getInt32(p+4,true),true);w+=8;`,
          fixedBytes: 8,
        };
      if (type !== 'FLOAT32') return null;
      return { source: `${length(8)}v.setFloat32(w,bv.getFloat64(p,true),true);w+=4;`, fixedBytes: 4 };
    case 'int-le':
      return littleEndian(wire, type, length(wire.bytes), writeSmall);
    case 'int32be-linear':
    case 'int64be-linear': {
      if (!small && type !== 'INT64') return null;
      const wide = wire.wire === 'int64be-linear';
      const halves = wide ? 'bv.getInt32(p+4),bv.getInt32(p)' : 'bv.getInt32(p),bv.getInt32(p)>>31';
      // y: the value where doubles hold all of it exactly, else NaN
      const write = small
        ? `if(y===(y|0)){x=y|0;${writeSmall(32)}}else ${fail(RowFault.outOfRange)}`
        : `if(y===y)w=writeSafe(o,w,y);else if(linear(s,${linear},${halves}))w=writeLong(o,w,pair[0],pair[1]);else ${fail(RowFault.outOfRange)}`;
      return { source: `${length(wide ? 8 : 4)}${linearSource(wire, linear, wide, small)}${write}`, fixedBytes: 10 };
    }
    case 'bool8':
      if (type !== 'BOOLEAN') return null;
      return { source: `${length(1)}x=b[p];if(x>1)${fail(RowFault.malformedValue)}o[w++]=x;`, fixedBytes: 1 };
    case 'bool-t':
      if (type !== 'BOOLEAN') return null;
      return {
        source: `${length(1)}x=b[p];if(x===116)o[w++]=1;else if(x===102)o[w++]=0;else ${fail(RowFault.malformedValue)}`,
        fixedBytes: 1,
      };
    case 'integer-t':
      if (type === 'INT64')
        return {
          source: `y=shortInteger(b,p,q);if(y===y)w=writeSafe(o,w,y);else if(longInteger(b,p,q,pair))w=writeLong(o,w,pair[0],pair[1]);else ${fail(RowFault.notANumber)}`,
          fixedBytes: 10,
        };
      if (!small) return null;
      return {
        source: `y=shortInteger(b,p,q);x=y|0;if(x!==y)${fail(RowFault.notANumber)}${writeSmall(32)}`,
        fixedBytes: 5,
      };
    case 'float-t': {
      if (type !== 'FLOAT64' && type !== 'FLOAT32') return null;
      const [set, size] = type === 'FLOAT64' ? ['setFloat64', 8] : ['setFloat32', 4];
      return {
        source: `y=floatText(b,p,q);if(y===null)${fail(RowFault.notANumber)}v.${set}(w,y,true);w+=${size};`,
        fixedBytes: size as number,
      };
    }
    case 'utf8':
    case 'bytes': {
      if (type !== 'BYTES' && !(type === 'STRING' && wire.wire === 'utf8')) return null;
      if (scale !== null) return null;
      const skip = wire.skip ? `if(n<${wire.skip | 0})${fail(RowFault.columnLength)}p+=${wire.skip | 0};` : '';
      return {
        source: `${skip}if(w+n>lim){o=grow(s,out,w,n);v=s.v;lim=o.length-s.fixed;}w=putSlice(o,v,w,b,bv,p,q);`,
        fixedBytes: 5,
      };
    }
    case 'hex-t':
      if (type !== 'BYTES' || scale !== null) return null;
      return {
        source: `n=hexLength(b,p,q);if(n<0)${fail(RowFault.malformedValue)}if(w+n>lim){o=grow(s,out,w,n);v=s.v;lim=o.length-s.fixed;}w=writeLength(o,w,n);if(!unhex(o,w,b,p,q))${fail(RowFault.malformedValue)}w+=n;`,
        fixedBytes: 5,
      };
    case 'decimal-t':
    case 'numeric-pg': {
      if (scale === null || !Number.isSafeInteger(scale)) return null;
      const form = wire.wire === 'decimal-t' ? 'Decimal' : 'Numeric';
      return {
        source: `y=short${form}(b,p,q,${scale});if(y===y)w=writeUnscaled(o,w,y);else{o=putBig(s,out,w,b,p,q,long${form},${scale},${column},i);v=s.v;w=out.position;lim=o.length-s.fixed;}`,
        fixedBytes: 8,
      };
    }
    case 'uuid':
      if (type !== 'STRING') return null;
      return { source: `${length(16)}o[w]=72;w=uuidText(o,w+1,b,p);`, fixedBytes: 37 };
    case 'bytes-mysql': {
      if (type !== 'BYTES' || scale !== null) return null;
      const size = `n>${wire.length | 0}?n:${wire.length | 0}`;
      return {
        source: `k=${size};if(w+k>lim){o=grow(s,out,w,k);v=s.v;lim=o.length-s.fixed;}w=putPadded(o,w,b,p,q,k);`,
        fixedBytes: 5,
      };
    }
    case 'decimal-mysql':
      if (scale === null || !Number.isSafeInteger(scale)) return null;
      return {
        source: `${length(packedDecimalBytes(wire.precision, scale))}y=shortPacked(b,p,q,${scale});if(y===y)w=writeUnscaled(o,w,y);else{o=putBig(s,out,w,b,p,q,longPacked,${scale},${column},i);v=s.v;w=out.position;lim=o.length-s.fixed;}`,
        fixedBytes: 8,
      };
    case 'date-mysql':
      if (type !== 'INT32') return null;
      return { source: 'w=writeInt(o,w,y);', fixedBytes: 5 };
    case 'datetime-mysql': {
      if (type !== 'INT64') return null;
      const write = wire.unit === 'ms' ? 'w=writeSafe(o,w,y*1000+Math.floor(x/1000));' : 'w=writeMicros(o,w,y,x);';
      return { source: `x=${fractionSource(wire.digits, 5)};${write}`, fixedBytes: 10 };
    }
    case 'timestamp-mysql':
      if (type !== 'STRING') return null;
      return { source: `w=writeTimestamp(o,w,y,x,${wire.digits | 0});`, fixedBytes: 28 };
    case 'time-mysql':
      if (type !== 'INT64') return null;
      return {
        source: `${length(3 + fractionBytes(wire.digits))}w=writeSafe(o,w,packedDuration(b,p,${wire.digits | 0}));`,
        fixedBytes: 10,
      };
    case 'year-mysql':
      if (type !== 'INT32') return null;
      return { source: `${length(1)}x=b[p];if(x!==0)x+=1900;w=writeInt(o,w,x);`, fixedBytes: 3 };
    case 'name-le':
      if (type !== 'STRING') return null;
      return {
        source: `if(n!==1&&n!==2)${fail(RowFault.columnLength)}z=s.K[${names}][n===1?b[p]:bv.getUint16(p,true)];if(z===undefined)${fail(RowFault.malformedValue)}if(w+z.length>lim){o=grow(s,out,w,z.length);v=s.v;lim=o.length-s.fixed;}w=putBlock(o,v,w,z);`,
        fixedBytes: 0,
      };
  }
}

/** What a slice that has its form stands for null by; null where none does. Leaves in x and y what the value is made of. */
export function nullSource(wire: ColumnWire, column: number): { readonly check: string; readonly test: string } | null {
  const length = (bytes: number): string => `if(n!==${bytes})fail(${RowFault.columnLength},${column},i);`;
  switch (wire.wire) {
    case 'decimal-t':
      return { check: '', test: 'notFiniteText(b,p,q)' };
    case 'numeric-pg':
      return { check: '', test: 'notFiniteNumeric(b,p,q)' };
    case 'date-mysql':
      return { check: `${length(3)}y=packedDate(b,p);`, test: 'y!==y' };
    case 'datetime-mysql':
      return { check: `${length(5 + fractionBytes(wire.digits))}y=packedMoment(b,p);`, test: 'y!==y' };
    case 'timestamp-mysql':
      return {
        check: `${length(4 + fractionBytes(wire.digits))}y=bv.getUint32(p);x=${fractionSource(wire.digits, 4)};`,
        test: 'y===0&&x===0',
      };
    default:
      return null;
  }
}

/** The fraction at p + `offset` in microseconds. */
function fractionSource(digits: number, offset: number): string {
  switch (fractionBytes(digits)) {
    case 0:
      return '0';
    case 1:
      return `b[p+${offset}]*10000`;
    case 2:
      return `bv.getUint16(p+${offset})*100`;
    default:
      return `b[p+${offset}]<<16|bv.getUint16(p+${offset + 1})`;
  }
}

type IntegerWire = Extract<ColumnWire, { wire: 'int-le' }>;

const INTEGERS: Readonly<Record<1 | 2 | 3 | 4, readonly [signed: string, unsigned: string]>> = {
  1: ['bv.getInt8(p)', 'b[p]'],
  2: ['bv.getInt16(p,true)', 'bv.getUint16(p,true)'],
  3: ['bv.getUint16(p,true)|bv.getInt8(p+2)<<16', 'bv.getUint16(p,true)|b[p+2]<<16'],
  4: ['bv.getInt32(p,true)', 'bv.getUint32(p,true)'],
};

function littleEndian(
  { bytes, isUnsigned }: IntegerWire,
  type: SchemaType,
  check: string,
  writeSmall: (bits: number) => string,
): ColumnSource | null {
  if (type === 'INT64') {
    if (bytes === 8)
      return { source: `${check}w=writeLong(o,w,bv.getInt32(p,true),bv.getInt32(p+4,true));`, fixedBytes: 10 };
    if (bytes === 4 && isUnsigned) return { source: `${check}w=writeLong(o,w,bv.getInt32(p,true),0);`, fixedBytes: 6 };
  } else if (type !== 'INT8' && type !== 'INT16' && type !== 'INT32') {
    return null;
  }
  // Those that need more bits than an int32 has fit an INT64 only.
  if (bytes === 8 || (bytes === 4 && isUnsigned)) return null;
  const read = INTEGERS[bytes][isUnsigned ? 1 : 0];
  return { source: `${check}x=${read};${writeSmall(bytes * 8 + (isUnsigned ? 1 : 0))}`, fixedBytes: 5 };
}

/** y = floor(value / divide) * multiply + add, or what a special value stands for, in doubles where all stays below 2^53, else NaN. */
function linearSource(
  wire: Extract<ColumnWire, { wire: 'int32be-linear' | 'int64be-linear' }>,
  linear: number,
  wide: boolean,
  small: boolean,
): string {
  const exact = (value: bigint): boolean => value >= -9007199254740991n && value <= 9007199254740991n;
  const inside = (x: string): string => `(${x}<=9007199254740991&&${x}>=-9007199254740991)`;
  const { multiply, add, divide = 1n, special = [] } = wire;
  let source = `y=${wide ? 'bv.getInt32(p)*4294967296+(bv.getInt32(p+4)>>>0)' : 'bv.getInt32(p)'};`;
  if (exact(multiply) && exact(add) && exact(divide)) {
    // special values beyond 2^53 are left to the slow way, like all such values
    for (const { wireValue, value } of special.filter(s => exact(s.wireValue)))
      source += `if(y===${Number(wireValue)})y=${exact(value) ? Number(value) : 'NaN'};else `;
    source += '{';
    if (wide) source += `if(!${inside('y')})y=NaN;`;
    if (divide !== 1n) source += `y=Math.floor(y/${Number(divide)});`;
    if (multiply !== 1n) source += `y*=${Number(multiply)};if(!${inside('y')})y=NaN;`;
    if (add !== 0n) source += `y+=${Number(add)};if(!${inside('y')})y=NaN;`;
    source += '}';
  } else {
    source = 'y=NaN;';
  }
  if (!small) return source;
  const halves = wide ? 'bv.getInt32(p+4),bv.getInt32(p)' : 'bv.getInt32(p),bv.getInt32(p)>>31';
  return `${source}if(y!==y&&linear(s,${linear},${halves}))y=pair[1]*4294967296+(pair[0]>>>0);`;
}
