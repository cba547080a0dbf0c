// The server under test as a target of the suite, in this process, on a clock that the checks move.
import type { Target } from "../../src/conformance/target.ts";
import { openTestApp } from "../support/app.ts";

export type Send = Target["send"];

/** Opens a server with an account of two tokens, and one of another user. @param change stands between the suite and the server */
export async function openTarget(change: (send: Send) => Send = (send) => send) {
  const test = await openTestApp({ open_podcast_draft: "on" });
  const user = await test.user("test");
  const other = await user.another();
  const target: Target = {
    url: "http://podkeep.test",
    user: user.name,
    password: user.token,
    token: user.token,
    second_token: other.token,
    second_password: other.token,
    other_user: "stranger",
    other_user_token: (await test.user("stranger")).token,
    rate: 0,
    timeout: 30,
    send: change(async (request) => test.http.fetch(request, {})),
    clock: {
      now: () => test.clock.now(),
      async sleep(milliseconds) {
        test.clock.advance(Math.ceil(milliseconds));
        await test.drain();
      },
    },
  };
  return { target, close: () => test.close() };
}
