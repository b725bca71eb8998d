import { z } from 'zod';
import { DECIMAL_PATTERN, MAX_DECIMAL_LENGTH, formatDecimal, isDecimal, parseDecimal, type Decimal } from '../../core/domain/decimal.js';
import type { Address, Hex } from '../../core/types.js';

/** Primitives shared by both front ends. A codec decodes requests, encodes replies, and prints itself as JSON Schema. */

export const DecimalString = z
  .codec(z.string().max(MAX_DECIMAL_LENGTH).regex(DECIMAL_PATTERN, 'must be a decimal string'), z.custom<Decimal>(isDecimal), {
    decode: parseDecimal,
    encode: formatDecimal,
  })
  .meta({ id: 'Decimal' });

const same = { decode: (text: string) => text as `0x${string}`, encode: (text: string) => text };

export const AddressString = z.codec(
  z.string().regex(/^0x[0-9a-fA-F]{40}$/, 'must be 0x and 40 hex characters'),
  z.custom<Address>((value) => typeof value === 'string'),
  same,
);

export const HexData = z.codec(
  z.string().regex(/^0x[0-9a-fA-F]*$/, 'must be 0x and hex characters'),
  z.custom<Hex>((value) => typeof value === 'string'),
  same,
);

export const EpochMs = z.int().nonnegative();
