export type LogFields = Readonly<Record<string, unknown>>;

/** Events as data: `log.info('order.filled', { chain, id })`. Fields are scrubbed of secrets before they are written. */
export interface Logger {
  debug(event: string, fields?: LogFields): void;
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
  child(fields: LogFields): Logger;
}
