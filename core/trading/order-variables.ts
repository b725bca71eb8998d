import { z } from 'zod';

export interface OrderSettings {
  /** Validity of a prepared transaction. */
  readonly preparedMs: number;
  /** Prepared and unsent orders that one agent may have at a time. */
  readonly maxUnsent: number;
}

const whole = (min: number, max: number) =>
  z.coerce.number('must be a number').int('must be a whole number').min(min, `must be at least ${min}`).max(max, `must be at most ${max}`);

/** The same for production and sandbox. */
export const ORDER_VARIABLES = {
  PREPARED_SECONDS: whole(1, 3600).default(60),
  MAX_UNSENT_ORDERS: whole(1, 10_000).default(50),
};

type Variables = z.output<z.ZodObject<typeof ORDER_VARIABLES>>;

export const orderSettings = ({ PREPARED_SECONDS, MAX_UNSENT_ORDERS }: Variables): OrderSettings => ({
  preparedMs: PREPARED_SECONDS * 1000,
  maxUnsent: MAX_UNSENT_ORDERS,
});
