/** Memoises by object: a message sent on a thousand connections is serialised once. */
export function createOnce<Item extends object, Made>(make: (item: Item) => Made): (item: Item) => Made {
  const known = new WeakMap<Item, { readonly made: Made }>();
  return (item) => {
    const found = known.get(item);
    if (found) return found.made;
    const made = make(item);
    known.set(item, { made });
    return made;
  };
}
