import { mountPage, type PageContext } from '../ui/shell.js';

function Connect({ chain }: PageContext) {
  return <h1>Connect a wallet and an agent · {chain}</h1>;
}

mountPage('connect', Connect, { hasStream: false });
