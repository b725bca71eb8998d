import { mountPage, type PageContext } from '../ui/shell.js';

function Operator({ chain }: PageContext) {
  return <h1>Operator · {chain}</h1>;
}

mountPage('operator', Operator, { hasStream: false });
