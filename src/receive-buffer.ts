// How much of what a client sends waits in the kernel.
import { FFIType, ptr } from "bun:ffi";
import { readdirSync } from "node:fs";
import { openCLibrary } from "./c-library.ts";

/** Bytes; Linux adds as many for its own use (socket(7)). From 50 ms away, a megabyte a second still arrives. */
const RECEIVE_BUFFER = 64 * 1024;

const { i32, u32 } = FFIType;
const FUNCTIONS = {
  getsockopt: { args: [i32, i32, i32, FFIType.ptr, FFIType.ptr], returns: i32 },
  setsockopt: { args: [i32, i32, i32, FFIType.ptr, u32], returns: i32 },
} as const;
const SOL_SOCKET = 1;
const SO_RCVBUF = 8;
const SO_ACCEPTCONN = 30;

/**
 * Limits the receive buffers of this process's listeners, which their connections inherit. In one turn of the event loop the
 * runtime reads all that is there of a connection, up to 5 MB of a fast client, which takes 0.1 s if it is in chunks of a byte.
 * On other systems than Linux, and where the C library can't be called, the kernel decides.
 */
export function limitReceiveBuffers(): void {
  if (process.platform !== "linux") return;
  try {
    const library = openCLibrary(FUNCTIONS);
    if (!library) return;
    const size = new Int32Array([RECEIVE_BUFFER]);
    const length = new Int32Array([size.byteLength]);
    const listens = new Int32Array(1);
    for (const name of readdirSync("/proc/self/fd")) {
      const socket = Number(name);
      // Also refuses what is no socket.
      const result = library.getsockopt(socket, SOL_SOCKET, SO_ACCEPTCONN, ptr(listens), ptr(length));
      if (result === 0 && listens[0] === 1)
        library.setsockopt(socket, SOL_SOCKET, SO_RCVBUF, ptr(size), size.byteLength);
    }
  } catch {
    // Others then wait longer beside such a client.
  }
}
