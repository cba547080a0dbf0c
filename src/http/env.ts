// What travels with a request through middleware and handlers.
import type { Identity } from "../services/tokens.ts";

export interface HttpEnv {
  Bindings: {
    /** The peer's address, as the socket has it. */
    readonly address?: string | undefined;
  };
  Variables: {
    requestId: string;
    identity: Identity;
  };
}
