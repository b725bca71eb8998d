/** What the operator routes say; amounts are decimal strings in the chain's coin, wei where the name says so. */

export interface Alert {
  readonly id: string;
  readonly kind: string;
  readonly chain: string;
  readonly subject: string;
  readonly message: string;
  readonly openedAt: number;
  readonly recoveredAt: number | null;
}

export interface Delivery {
  readonly id: string;
  readonly alertId: string;
  readonly event: string;
  readonly body: string;
  readonly state: 'pending' | 'delivered' | 'dead';
  readonly attempts: number;
  readonly createdAt: number;
  readonly dueAt: number;
  readonly lastError: string | null;
  readonly deliveredAt: number | null;
}

export interface Alerts {
  readonly arePosted: boolean;
  readonly open: readonly Alert[];
  readonly recovered: readonly Alert[];
  readonly delivered: readonly Delivery[];
  readonly pending: readonly Delivery[];
  readonly dead: readonly Delivery[];
}

/** What waits for `relayer adopt`. */
export interface Adoptions {
  readonly doubt: string | null;
  readonly loss: { readonly text: string; readonly awaitsOperator: boolean } | null;
  readonly wallets: readonly { readonly chain: string; readonly wallet: string; readonly reason: string; readonly command: string }[];
}

export type Mode = 'running' | 'draining' | 'paused';

export interface Wallet {
  readonly address: string;
  /** Null while no node answers. */
  readonly balance: string | null;
  readonly burn: { readonly day: string; readonly week: string };
  readonly runwayDays: number | null;
  readonly budget: { readonly setting: 'fixed' | 'half' | 'unlimited'; readonly budget: string | null; readonly spent: string };
  readonly traders: number;
  readonly switch: {
    readonly mode: Mode;
    readonly reason: string | null;
    readonly changedAt: number | null;
    readonly isRetiring: boolean;
  } | null;
  readonly lane: {
    readonly owner: { readonly host: string | null; readonly connection: number; readonly since: number } | null;
    readonly state: 'ok' | 'blocked';
    readonly since: number | null;
    readonly reason: string | null;
    readonly trouble: string | null;
    readonly nextNonce: number | null;
    readonly openJobs: Readonly<Record<string, number>>;
    readonly oldestOpenMs: number | null;
  };
}

export interface ChainStatus {
  readonly chain: string;
  readonly name: string;
  readonly isTestnet: boolean;
  readonly coin: string;
  readonly threshold: { readonly balance: string; readonly runwayDays: number };
  readonly nodes: readonly { readonly host: string; readonly state: string }[];
  readonly wallets: readonly Wallet[];
}

export interface Status {
  readonly at: number;
  readonly mode: 'production' | 'sandbox';
  readonly chains: readonly ChainStatus[];
}

export interface History {
  readonly from: number;
  readonly to: number;
  readonly stepMs: number;
  readonly burn: readonly { readonly at: number; readonly transactions: number; readonly cost: string }[];
  readonly balances: readonly { readonly at: number; readonly balance: string }[];
}

export interface CostRow {
  readonly key: string | null;
  readonly transactions: number;
  readonly cost: string;
  readonly costWei: string;
}

export interface Costs {
  readonly rows: readonly CostRow[];
  readonly total: { readonly transactions: number; readonly cost: string; readonly costWei: string };
  readonly leftOut: number;
}

export interface Standing {
  readonly trader: string;
  readonly rules: {
    readonly access: 'allowed' | 'blocked';
    readonly reduceOnly: boolean;
    readonly maxOpenNotionalUsd: string | null;
    readonly maxDailyLossUsd: string | null;
    readonly ordersPerMinute: number | null;
    readonly dailyTransactions: number | null;
  };
  readonly from: Readonly<Record<string, string>>;
  readonly use: {
    readonly openNotionalUsd: string;
    readonly realizedPnlUsd: string;
    readonly ordersInLastMinute: number;
    readonly transactions: number;
    readonly dayEndsAt: number;
  };
}

export interface Quotas {
  readonly traders: readonly Standing[];
  readonly leftOut: number;
}
