/** Counts that only the database knows. None of them reads what is over. */
export interface MetricsStore {
  /** Orders that are not over, by status. */
  liveOrders(): Promise<readonly { readonly chain: string; readonly status: string; readonly count: number }[]>;
  openAlerts(): Promise<readonly { readonly chain: string; readonly kind: string; readonly count: number }[]>;
  undelivered(): Promise<readonly { readonly state: string; readonly count: number }[]>;
}
