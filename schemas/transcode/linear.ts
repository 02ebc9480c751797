import type { ColumnWire } from './layout.ts';

export type LinearWire = Extract<ColumnWire, { wire: 'int32be-linear' | 'int64be-linear' }>;

/** The exact value of a linear wire form. */
export function linearValue(wire: LinearWire, raw: bigint): bigint {
  const special = wire.special?.find(s => s.wireValue === raw);
  if (special !== undefined) return special.value;
  const divide = wire.divide ?? 1n;
  const quotient = raw / divide;
  const whole = raw % divide < 0n ? quotient - 1n : quotient;
  return whole * wire.multiply + wire.add;
}
