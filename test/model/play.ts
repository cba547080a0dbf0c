// Plays a history on an app: one world per user, and the commands for all of them.
import type { Step } from "./commands.ts";
import { type Client, type History, World } from "./world.ts";

/** The part of a test app that the model needs. */
export interface App {
  clock: { now(): number; advance(ms: number): void };
  user(name?: string): Promise<Client>;
  drain(): Promise<void>;
  /** The history of a user; null if the app keeps none. */
  historyOf(user: Client): History | null;
  reopen(): Promise<void>;
  close(): Promise<void>;
}

/** Plays a history on a new app. */
export async function play(open: () => Promise<App>, steps: Step[]): Promise<void> {
  const app = await open();
  try {
    const enter = async (name: string) => {
      const client = await app.user(name);
      return World.open(client, app.clock.now, app.historyOf(client));
    };
    const worlds = [await enter("ann"), await enter("bob")];
    for (const { user, command } of steps) {
      if (command.type === "clock") {
        app.clock.advance(command.by);
        for (const world of worlds) world.clockMoved();
      } else if (command.type === "restart") await app.reopen();
      else if (command.type === "drain") {
        await app.drain();
        for (const world of worlds) await world.drained();
      } else await worlds[user]!.run(command);
    }
    for (const world of worlds) await world.finish();
  } finally {
    await app.close();
  }
}
