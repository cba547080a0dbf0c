// How much of what the other side sends waits in the kernel.
import { FFIType, ptr } from "bun:ffi";
import { readdirSync } from "node:fs";
import type { Socket } from "node:net";
import { z } from "zod";
import { openCLibrary } from "./c-library.ts";
import { once } from "./once.ts";

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

/** Null on other systems than Linux, and where the C library can't be called: the kernel decides, and others wait longer. */
const library = once(() => {
  try {
    return process.platform === "linux" ? openCLibrary(FUNCTIONS) : null;
  } catch {
    return null;
  }
});
const size = new Int32Array([RECEIVE_BUFFER]);
const limit = (fd: number) => library()?.setsockopt(fd, SOL_SOCKET, SO_RCVBUF, ptr(size), size.byteLength);

/**
 * Limits the receive buffers of this process's listeners, which their connections inherit. In one turn of the event loop the
 * runtime reads all that is there of a connection, up to 5 MB of a fast client, which takes 0.1 s if it is in chunks of a byte.
 */
export function limitReceiveBuffers(): void {
  const listens = new Int32Array(1);
  const length = new Int32Array([listens.byteLength]);
  for (const fd of library() ? listDescriptors() : []) {
    // Also refuses what is no socket.
    const result = library()?.getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, ptr(listens), ptr(length));
    if (result === 0 && listens[0] === 1) limit(fd);
  }
}

function listDescriptors(): number[] {
  try {
    return readdirSync("/proc/self/fd").map(Number);
  } catch {
    return [];
  }
}

/** The runtime has the number of a connection there, and nowhere else. */
const Connected = z.object({ _handle: z.object({ fd: z.number() }) });

/** Limits the receive buffer of a connection that this process has opened. */
export function limitReceiveBuffer(socket: Socket): void {
  const { data } = Connected.safeParse(socket);
  if (data) limit(data._handle.fd);
}
