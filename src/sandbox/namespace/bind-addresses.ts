// Makes every address local to a network namespace, as the child that opens its door does it from inside: `lo` comes up, and
// all routes lead to it. A text, because it is part of that child's. It speaks netlink to the kernel, so that no program of the
// system is needed. Doing it twice does no harm: a container that is registered again has its addresses bound already.

/** A function `bindEveryAddress(koffi)`. Throws when IPv4 addresses cannot be bound; where IPv6 is off there is nothing to do. */
export const bindAddressesSource = `
function bindEveryAddress(koffi) {
  const libc = koffi.load(null);
  const send = libc.func('long send(int fd, const uint8_t *data, size_t length, int flags)');
  const receive = libc.func('long recv(int fd, _Out_ uint8_t *data, size_t length, int flags)');
  // linux/netlink.h, linux/rtnetlink.h
  const [AF_NETLINK, SOCK_RAW, SOCK_CLOEXEC] = [16, 3, 0o2000000];
  const [RTM_NEWLINK, RTM_NEWROUTE] = [16, 24];
  const [REQUEST, ACK, REPLACE, CREATE] = [1, 4, 0x100, 0x400];
  const [RTA_DST, RTA_OIF] = [1, 4];
  const [TABLE_LOCAL, PROTOCOL_BOOT, SCOPE_HOST, SCOPE_UNIVERSE, LOCAL] = [255, 3, 254, 0, 2];
  const loopback = 1;

  const socket = libc.func('int socket(int domain, int type, int protocol)')(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0);
  if (socket < 0) throw new Error('no netlink socket could be had (errno ' + koffi.errno() + ')');

  function ask(what, type, flags, body) {
    const header = Buffer.alloc(16);
    header.writeUInt32LE(header.length + body.length, 0);
    header.writeUInt16LE(type, 4);
    header.writeUInt16LE(REQUEST | ACK | flags, 6);
    const message = Buffer.concat([header, body]);
    if (Number(send(socket, message, message.length, 0)) !== message.length)
      throw new Error(what + ' (errno ' + koffi.errno() + ')');
    const answer = Buffer.alloc(4096);
    const length = Number(receive(socket, answer, answer.length, 0));
    // struct nlmsgerr follows the header.
    const code = length < 20 ? koffi.errno() : -answer.readInt32LE(16);
    if (code !== 0) throw new Error(what + ' (errno ' + code + ')');
  }

  function attribute(type, value) {
    const header = Buffer.alloc(4);
    header.writeUInt16LE(4 + value.length, 0);
    header.writeUInt16LE(type, 2);
    return Buffer.concat([header, value]);
  }

  function bindLocally(family, scope, address, bits) {
    const route = Buffer.from([family, bits, 0, 0, TABLE_LOCAL, PROTOCOL_BOOT, scope, LOCAL, 0, 0, 0, 0]);
    const device = Buffer.alloc(4);
    device.writeUInt32LE(loopback);
    const to = bits === 0 ? Buffer.alloc(0) : attribute(RTA_DST, Buffer.from(address));
    const what = 'the route for ' + address.join('.') + '/' + bits + ' could not be set';
    ask(what, RTM_NEWROUTE, CREATE | REPLACE, Buffer.concat([route, attribute(RTA_OIF, device), to]));
  }

  const link = Buffer.alloc(16);
  link.writeInt32LE(loopback, 4);
  // Its flags, and which of them to change: IFF_UP.
  link.writeUInt32LE(1, 8);
  link.writeUInt32LE(1, 12);
  ask('lo could not be brought up', RTM_NEWLINK, 0, link);
  bindLocally(2, SCOPE_HOST, [0, 0, 0, 0], 0);
  // The kernel's own names 127.0.0.1 as its source: an answer from 127.0.0.53 would come from there.
  bindLocally(2, SCOPE_HOST, [127, 0, 0, 0], 8);
  try {
    bindLocally(10, SCOPE_UNIVERSE, ['::'], 0);
  } catch {}
  libc.func('int close(int fd)')(socket);
}
`;
