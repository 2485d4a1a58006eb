// An address of a socket in its one spelling. A dual-stack listener shows IPv4 as mapped IPv6, to the client's address
// and its own alike.

export function plainAddress(address: string | undefined): string | null {
  if (address === undefined) return null;
  return address.startsWith('::ffff:') ? address.slice(7) : address;
}
