// One user's state in the oracle, and the change clock (P1).

import { timeForChanges } from "../../src/clock.ts";

/** A subscription. Timestamps are Unix milliseconds. */
export interface Entry {
  feedUrl: string;
  guid: string;
  isSubscribed: boolean;
  subscriptionChanged: number;
  guidChanged: number | undefined;
  deleted: number | undefined;
}

/** The subscription of a guid, and when another guid replaced it there. */
export interface GuidLead {
  entry: Entry;
  retired: number | undefined;
}

/** A request to delete an entry. */
export interface Deletion {
  id: number;
  entry: Entry;
  status: "PENDING" | "SUCCESS" | "FAILURE";
}

/** Gives the one timestamp of all changes to an entry in the present transaction. */
export type Stamp = (entry: Entry) => number;

/** Everything stored for one user. */
export class State {
  clock = 0;
  readonly guids = new Map<string, GuidLead>();
  readonly feeds = new Map<string, Entry>();
  readonly deletions: Deletion[] = [];

  /** P1: runs one write transaction; every entry that changes in it gets the next timestamp, once. */
  transact<T>(wall: number, work: (stamp: Stamp) => T): T {
    const given = new Map<Entry, number>();
    let last = this.clock;
    const stamp: Stamp = (entry) => {
      const own = given.get(entry) ?? Math.max(timeForChanges(wall), last + 1);
      if (!given.has(entry)) last = own;
      given.set(entry, own);
      return own;
    };
    const result = work(stamp);
    this.clock = last;
    return result;
  }

  /** The subscription that has or had a guid. */
  byGuid(guid: string): Entry | undefined {
    return this.guids.get(guid)?.entry;
  }

  /** The pending deletion of an entry. */
  pending(entry: Entry): Deletion | undefined {
    return this.deletions.find((deletion) => deletion.entry === entry && deletion.status === "PENDING");
  }

  /** All subscriptions, deleted ones included. */
  entries(): Entry[] {
    return [...new Set([...this.guids.values()].map((lead) => lead.entry))];
  }
}

/** An entry's position in the change feed (P2). */
export function place(entry: Entry): number {
  return Math.max(entry.subscriptionChanged, entry.guidChanged ?? 0, entry.deleted ?? 0);
}
