import { mountPage, type PageContext } from '../ui/shell.js';

function Account({ chain }: PageContext) {
  return <h1>Account · {chain}</h1>;
}

mountPage('account', Account);
