/** Reads an expression of Prometheus as far as ours go; throws at what it does not understand. */
export interface Selector {
  readonly metric: string;
  readonly labels: readonly string[];
}

export interface ReadExpression {
  readonly selectors: readonly Selector[];
  /** Labels of `by`, `on` and their like, with the metrics that stand below them. */
  readonly groupings: readonly { readonly labels: readonly string[]; readonly metrics: readonly string[] }[];
}

const AGGREGATORS = new Set(['sum', 'min', 'max', 'avg', 'count', 'topk', 'bottomk', 'quantile', 'stddev', 'group']);
const FUNCTIONS = new Set([
  'rate',
  'irate',
  'increase',
  'deriv',
  'delta',
  'histogram_quantile',
  'max_over_time',
  'min_over_time',
  'time',
  'clamp_min',
]);
const OPERATORS = new Set(['+', '-', '*', '/', '%', '^', '==', '!=', '>', '<', '>=', '<=', 'and', 'or', 'unless']);
const TOKEN =
  /\s*(?:([a-zA-Z_:][\w:]*)|(\d+(?:\.\d+)?(?![\w.]))|("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(\[(?:\d+[smhd]|\$__rate_interval)\])|(=~|!~|==|!=|>=|<=|[-+*/%^<>=(){},]))/y;

function tokensOf(text: string): string[] {
  const tokens: string[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.trimEnd().length) {
    const at = TOKEN.lastIndex;
    const match = TOKEN.exec(text);
    if (match === null) throw new Error(`not understood at ${at}: ${text.slice(at, at + 40)}`);
    tokens.push(match[0].trim());
  }
  return tokens;
}

export function readPromql(text: string): ReadExpression {
  const tokens = tokensOf(text);
  const selectors: Selector[] = [];
  const groupings: { labels: readonly string[]; metrics: readonly string[] }[] = [];
  let at = 0;
  const peek = (): string => tokens[at] ?? '';
  const take = (wanted?: string): string => {
    const token = tokens[at];
    if (token === undefined || (wanted !== undefined && token !== wanted))
      throw new Error(`expected ${wanted ?? 'more'}, found ${token ?? 'the end'} in ${text}`);
    at += 1;
    return token;
  };
  const isName = (token: string): boolean => /^[a-zA-Z_:][\w:]*$/.test(token);
  const listed = <Item>(open: string, close: string, one: () => Item): Item[] => {
    const items: Item[] = [];
    take(open);
    while (peek() !== close) {
      items.push(one());
      if (peek() !== close) take(',');
    }
    take(close);
    return items;
  };
  const names = (): string[] => listed('(', ')', () => take());
  const matcher = (): string => {
    const label = take();
    if (!isName(label) || !['=', '=~', '!=', '!~'].includes(take()) || !/^["']/.test(take())) throw new Error(`a bad matcher in ${text}`);
    return label;
  };
  const selector = (metric: string): void => {
    selectors.push({ metric, labels: peek() === '{' ? listed('{', '}', matcher) : [] });
    if (peek().startsWith('[')) take();
  };
  const aggregate = (): void => {
    const from = selectors.length;
    const labels: string[] = [];
    const grouping = (): void => {
      if (peek() !== 'by' && peek() !== 'without') return;
      take();
      labels.push(...names());
    };
    grouping();
    listed('(', ')', expression);
    grouping();
    groupings.push({ labels, metrics: selectors.slice(from).map(({ metric }) => metric) });
  };
  const primary = (): void => {
    const token = take();
    if (token === '-') return primary();
    if (token === '(') {
      expression();
      return void take(')');
    }
    if (/^\d/.test(token)) return;
    if (!isName(token)) throw new Error(`${token} stands where a value should, in ${text}`);
    if (AGGREGATORS.has(token)) return aggregate();
    if (peek() !== '(') return selector(token);
    if (!FUNCTIONS.has(token)) throw new Error(`no function is called ${token}, in ${text}`);
    listed('(', ')', expression);
  };
  function expression(): void {
    const from = selectors.length;
    primary();
    while (OPERATORS.has(peek())) {
      take();
      const matched: string[] = [];
      if (peek() === 'on' || peek() === 'ignoring') {
        take();
        matched.push(...names());
      }
      if (peek() === 'group_left' || peek() === 'group_right') {
        take();
        if (peek() === '(' && tokens[at + 2] === ')') names();
      }
      primary();
      groupings.push({ labels: matched, metrics: selectors.slice(from).map(({ metric }) => metric) });
    }
  }
  expression();
  if (at !== tokens.length) throw new Error(`${peek()} is left over in ${text}`);
  return { selectors, groupings };
}
