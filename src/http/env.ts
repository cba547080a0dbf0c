// Values that travel with a request through middleware and handlers.
import type { Actor } from "../services/actor.ts";

export interface HttpEnv {
  Bindings: {
    /** The peer's IP address, as the socket has it. */
    readonly address?: string | undefined;
  };
  Variables: {
    requestId: string;
    actor: Actor;
    /** The part of the ETag that does not depend on the user's clock. */
    etagTail: string;
  };
}
