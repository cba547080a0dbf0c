// A listening Unix datagram socket, as systemd has one.
import { dlopen, FFIType, ptr } from "bun:ffi";

const { i32, u32, u64, i64_fast } = FFIType;
const AF_UNIX = 1;
const SOCK_DGRAM = 2;
const MSG_DONTWAIT = 0x40;

/** @param path of the socket; @ begins a name in the abstract namespace */
export function listenForDatagrams(path: string) {
  const { symbols } = dlopen("libc.so.6", {
    socket: { args: [i32, i32, i32], returns: i32 },
    bind: { args: [i32, FFIType.ptr, u32], returns: i32 },
    recv: { args: [i32, FFIType.ptr, u64, i32], returns: i64_fast },
    sendto: { args: [i32, FFIType.ptr, u64, i32, FFIType.ptr, u32], returns: i64_fast },
    close: { args: [i32], returns: i32 },
  });
  const socket = symbols.socket(AF_UNIX, SOCK_DGRAM, 0);
  const address = Buffer.from(`\x01\0${path.replace(/^@/, "\0")}`);
  if (symbols.bind(socket, ptr(address), address.length) !== 0) throw new Error(`${path} can't be bound`);
  const buffer = new Uint8Array(4096);
  /** The next message, null if there is none yet. */
  function take(): string | null {
    const length = Number(symbols.recv(socket, ptr(buffer), buffer.length, MSG_DONTWAIT));
    return length < 0 ? null : new TextDecoder().decode(buffer.subarray(0, length));
  }
  return {
    take,
    async next(): Promise<string> {
      for (let message = take(); ; message = take()) {
        if (message !== null) return message;
        await Bun.sleep(5);
      }
    },
    /** Leaves no room for another message. */
    fill(): void {
      const sender = symbols.socket(AF_UNIX, SOCK_DGRAM, 0);
      while (Number(symbols.sendto(sender, ptr(buffer), 1, MSG_DONTWAIT, ptr(address), address.length)) > 0);
      symbols.close(sender);
    },
    close: () => symbols.close(socket),
  };
}
