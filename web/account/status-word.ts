/** `open` is a status of the API; people call an order that waits for its price resting. */
export const statusWord = (status: string): string => (status === 'open' ? 'resting' : status.replaceAll('_', ' '));
