import type { ErrorCode } from './api.js';

/** A refusal of the gateway, with the code of its catalogue. */
export class GatewayError extends Error {
  override readonly name = 'GatewayError';

  readonly status: number;
  /** `UNREADABLE` where the reply was not one of this API: the address may belong to something else. */
  readonly code: ErrorCode | 'UNREADABLE';
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    operation: string,
    status: number,
    { code, message, details = {} }: { code: GatewayError['code']; message: string; details?: GatewayError['details'] },
  ) {
    super(`${operation} was refused with ${status} ${code}: ${message}`);
    this.status = status;
    this.code = code;
    this.details = details;
  }
}

/** What differed between what was asked for and what the gateway wants to have signed. */
export type Reason =
  | 'TO'
  | 'VALUE'
  | 'CHAIN_ID'
  | 'EXPIRED'
  | 'ENCODING'
  | 'FUNCTION'
  | 'CALLS'
  | 'TRADER'
  | 'MARKET'
  | 'SIDE'
  | 'TYPE'
  | 'SIZE'
  | 'PRICE'
  | 'SLIPPAGE'
  | 'COLLATERAL'
  | 'LEVERAGE'
  | 'TP'
  | 'SL'
  | 'REFERRER'
  | 'INDEX'
  | 'FIELD'
  | 'ORDER'
  | 'GAS'
  | 'FEE'
  | 'DOMAIN'
  | 'PRIMARY_TYPE'
  | 'TYPES'
  | 'MESSAGE'
  | 'AMOUNT'
  | 'DELEGATE';

/** Nothing was signed: what the gateway answered is not what was asked for. */
export class VerificationError extends Error {
  override readonly name = 'VerificationError';

  readonly reason: Reason;
  readonly asked: string | null;
  readonly found: string | null;

  constructor(reason: Reason, sentence: string, asked: string | null = null, found: string | null = null) {
    super(
      `${reason}: ${sentence}${asked === null && found === null ? '' : ` (asked for ${asked ?? 'nothing'}, found ${found ?? 'nothing'})`}`,
    );
    this.reason = reason;
    this.asked = asked;
    this.found = found;
  }
}

type Shown = string | number | bigint | boolean;

/** Refuses a value that is not the expected one. Hex is compared in any letter case. */
export function requireSame(reason: Reason, sentence: string, asked: Shown, found: Shown): void {
  const [a, b] = [String(asked), String(found)];
  if (a === b || (a.startsWith('0x') && a.toLowerCase() === b.toLowerCase())) return;
  throw new VerificationError(reason, sentence, a, b);
}

/** The client was made or used in a way that cannot work. */
export class ClientError extends Error {
  override readonly name = 'ClientError';
}

/** The chain refused or reverted a transaction, or a node did not answer. */
export class ChainError extends Error {
  override readonly name = 'ChainError';
}
