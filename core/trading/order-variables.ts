import { z } from 'zod';

export interface OrderSettings {
  /** How long a prepared transaction may be sent. */
  readonly preparedMs: number;
  /** Prepared and unsent orders that one agent may have at a time. */
  readonly maxUnsent: number;
}

const whole = (least: number, most: number) =>
  z.coerce
    .number('must be a number')
    .int('must be a whole number')
    .min(least, `must be at least ${least}`)
    .max(most, `must be at most ${most}`);

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
