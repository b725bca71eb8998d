/** `fetch` takes no address with a name and a password in it: every call would fail, and its error quotes them. */
export function hasUserInfo(url: URL): boolean {
  return url.username !== '' || url.password !== '';
}
