import type { Campaign } from "./campaign.ts";
import { exportKills } from "./export/kills.ts";
import { lock } from "./export/lock.ts";
import { lostAgain } from "./export/lost-again.ts";
import { network } from "./export/network.ts";
import { exportPowerLoss } from "./export/power-loss.ts";
import { exportSequences } from "./export/sequences.ts";
import { backup } from "./ledger/backup.ts";
import { crashPoints } from "./ledger/crash-points.ts";
import { diskErrors } from "./ledger/disk-errors.ts";
import { flips } from "./ledger/flips.ts";
import { groups } from "./ledger/groups.ts";
import { model } from "./ledger/model.ts";
import { overspend } from "./ledger/overspend.ts";
import { postgres } from "./ledger/postgres.ts";
import { postgresHang } from "./ledger/postgres-hang.ts";
import { powerLoss } from "./ledger/power-loss.ts";
import { vacuum } from "./ledger/vacuum.ts";
import { limits } from "./limits.ts";

/** All that are modules of this folder; `others.json` has those that are not. */
export const CAMPAIGNS: readonly Campaign[] = [
  crashPoints,
  powerLoss,
  overspend,
  model,
  groups,
  diskErrors,
  vacuum,
  backup,
  flips,
  postgres,
  postgresHang,
  limits,
  exportKills,
  exportSequences,
  exportPowerLoss,
  network,
  lostAgain,
  lock,
];
