import { mountPage, type PageContext } from '../ui/shell.js';

function Venue({ chain }: PageContext) {
  return <h1>Venue · {chain}</h1>;
}

mountPage('venue', Venue);
