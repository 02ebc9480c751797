import type { ColumnWire } from './layout.ts';

export type LinearWire = Extract<ColumnWire, { wire: 'int32be-linear' | 'int64be-linear' }>;

/** The exact value of a linear wire form. */
export function linearValue(wire: LinearWire, raw: bigint): bigint {
  const { special, divide } = wire;
  if (special !== undefined) for (const s of special) if (s.wireValue === raw) return s.value;
  if (divide === undefined || divide === 1n) return raw * wire.multiply + wire.add;
  const quotient = raw / divide;
  const whole = raw % divide < 0n ? quotient - 1n : quotient;
  return whole * wire.multiply + wire.add;
}
