// What goes with a deleted subscription. Data of later kinds that hangs on one is removed here.

import { markDeleted } from "../store/subscriptions.ts";
import type { Transaction } from "./transact.ts";

/** Deletes a subscription and all that hangs on it; guids and addresses stay and lead to the tombstone (P3). */
export async function cascade({ tx, user_id, stamp }: Transaction, subscription: number): Promise<void> {
  await markDeleted(tx, { user_id, id: subscription, stamp: stamp() });
}
