// Messages to systemd (sd_notify(3)): ready, alive, stopping.
import { FFIType, ptr } from "bun:ffi";
import { C_LIBRARIES, openCLibrary } from "../c-library.ts";
import { DomainError } from "../errors.ts";

/** The service manager that started this process. */
export interface Systemd {
  /** The server accepts requests. */
  ready(): void;
  /** A sign of life for the watchdog. */
  alive(): void;
  stopping(): void;
}

const { i32, u32, u64, i64_fast } = FFIType;
const FUNCTIONS = {
  socket: { args: [i32, i32, i32], returns: i32 },
  sendto: { args: [i32, FFIType.ptr, u64, i32, FFIType.ptr, u32], returns: i64_fast },
} as const;
const NO_COMPILER =
  "systemd can't be notified, because the compiler of the JavaScript runtime is off: remove MemoryDenyWriteExecute= and LimitAS= from the unit";
const AF_UNIX = 1;
const SOCK_DGRAM = 2;
const SOCK_CLOEXEC = 0o2000000;
const MSG_DONTWAIT = 0x40;
const MSG_NOSIGNAL = 0x4000;

/**
 * Connects to the socket that NOTIFY_SOCKET names; without one, messages go nowhere.
 * @throws DomainError "config" if this machine's C library is not found, or can't be called
 */
export function connectSystemd(): Systemd {
  const path = process.env["NOTIFY_SOCKET"];
  const send = path ? openSocket(path) : () => {};
  return {
    // It is not sent again.
    ready: () => send("READY=1", 0),
    // A systemd that does not read must not stop the server.
    alive: () => send("WATCHDOG=1", MSG_DONTWAIT),
    stopping: () => send("STOPPING=1", MSG_DONTWAIT),
  };
}

function openSocket(path: string): (message: string, flags: number) => void {
  const library = openLibrary();
  const socket = library.socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const address = addressOf(path);
  return (text, flags) => {
    const message = Buffer.from(text);
    library.sendto(socket, ptr(message), message.length, MSG_NOSIGNAL | flags, ptr(address), address.length);
  };
}

// Bun has no Unix datagram sockets.
function openLibrary() {
  try {
    const library = openCLibrary(FUNCTIONS);
    if (library) return library;
  } catch (error) {
    throw new DomainError("config", NO_COMPILER, { cause: error });
  }
  throw new DomainError(
    "config",
    `NOTIFY_SOCKET is set, but none of ${C_LIBRARIES.join(", ")} is installed: use Type=exec in the unit`,
  );
}

/** struct sockaddr_un: the family, then the path, or an abstract name (@) after a zero byte. */
function addressOf(path: string): Uint8Array {
  const name = path.startsWith("@") ? `\0${path.slice(1)}` : `${path}\0`;
  return Buffer.concat([new Uint8Array(new Uint16Array([AF_UNIX]).buffer), Buffer.from(name)]);
}
