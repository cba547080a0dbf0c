// An address of this machine, and what answers there.
import type { Server } from "bun";
import { DomainError, messageOf } from "../errors.ts";

/** Seconds without a byte after which a connection is closed; it also bounds how long a handler may run. */
const IDLE_TIMEOUT = 60;

interface Address {
  host: string;
  port: number;
  /** The flag that chooses another one. */
  flag: string;
}

/** @throws DomainError "config" where the address can't be had */
export function listen(
  { host, port, flag }: Address,
  fetch: (request: Request, server: Server<undefined>) => Response | Promise<Response>,
): Server<undefined> {
  try {
    return Bun.serve({
      hostname: host,
      port,
      reusePort: false,
      development: false,
      idleTimeout: IDLE_TIMEOUT,
      // The app has its own limit, with an answer that clients can read.
      maxRequestBodySize: Number.MAX_SAFE_INTEGER,
      fetch,
    });
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : "";
    const taken = `Port ${port} on ${host} is taken: stop what uses it, or choose another with ${flag}`;
    const reason = code === "EADDRINUSE" ? taken : `Can't listen on ${host}, port ${port}: ${messageOf(error)}`;
    throw new DomainError("config", reason, { cause: error });
  }
}
