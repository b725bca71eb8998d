/** Secrets live in the tab: gone when it is closed, in no other tab, and in no URL. Storage may be forbidden; then the page forgets on reload. */
export function keepInTab(name: string, value: string | null): void {
  try {
    if (value === null) sessionStorage.removeItem(name);
    else sessionStorage.setItem(name, value);
  } catch {
    // The value lasts until the page is left.
  }
}

export function keptInTab(name: string): string | null {
  try {
    return sessionStorage.getItem(name);
  } catch {
    return null;
  }
}
