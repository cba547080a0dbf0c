// How the server tells systemd about itself (sd_notify(3)): one datagram for each change of state.
import { dlopen, FFIType, ptr } from "bun:ffi";
import { DomainError } from "../errors.ts";

export type Notify = (state: "READY=1" | "WATCHDOG=1" | "STOPPING=1") => void;

const { i32, u32, u64, i64_fast } = FFIType;
const SYMBOLS = {
  socket: { args: [i32, i32, i32], returns: i32 },
  sendto: { args: [i32, FFIType.ptr, u64, i32, FFIType.ptr, u32], returns: i64_fast },
} as const;
const LIBRARIES = ["libc.so.6", `libc.musl-${process.arch === "arm64" ? "aarch64" : "x86_64"}.so.1`];
const AF_UNIX = 1;
const SOCK_DGRAM = 2;
const SOCK_CLOEXEC = 0o2000000;
const MSG_NOSIGNAL = 0x4000;

/**
 * Opens the way to the socket that NOTIFY_SOCKET names.
 * @throws DomainError "config" where this machine has no way
 */
export function openNotify(path: string): Notify {
  const { symbols } = openLibrary();
  const socket = symbols.socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const address = addressOf(path);
  return (state) => {
    const message = Buffer.from(state);
    symbols.sendto(socket, ptr(message), message.length, MSG_NOSIGNAL, ptr(address), address.length);
  };
}

/** Milliseconds after which systemd takes this process for hung; null where it does not watch. */
export function watchdogInterval(env: Record<string, string | undefined>): number | null {
  const { WATCHDOG_USEC: microseconds, WATCHDOG_PID: pid } = env;
  if (!microseconds || (pid && pid !== String(process.pid))) return null;
  return Number(microseconds) / 1000;
}

// Bun has no datagram sockets of the Unix kind.
function openLibrary() {
  for (const library of LIBRARIES) {
    try {
      return dlopen(library, SYMBOLS);
    } catch {}
  }
  throw new DomainError("config", `None of ${LIBRARIES.join(", ")} is here, so systemd can't be told: use Type=exec`);
}

/** struct sockaddr_un: the family, then the path, or an abstract name behind a zero byte where it begins with @. */
function addressOf(path: string): Uint8Array {
  const name = path.startsWith("@") ? `\0${path.slice(1)}` : `${path}\0`;
  return Buffer.concat([new Uint8Array(new Uint16Array([AF_UNIX]).buffer), Buffer.from(name)]);
}
