/** One client, and each thing it does: whether its test passed when the report was last written. */
export interface ClientReport {
  readonly client: string;
  readonly version: string;
  readonly flows: readonly { readonly flow: string; readonly isPassed: boolean }[];
}
