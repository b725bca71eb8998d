/** `fetch` rejects URLs with a user name or password, and its error would quote them. */
export function hasUserInfo(url: URL): boolean {
  return url.username !== '' || url.password !== '';
}
