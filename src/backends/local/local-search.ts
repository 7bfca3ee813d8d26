/** Finds jobs by token where the answer to their request was lost. */
import { basename, join } from 'node:path';
import { parseToken } from '../../protocol/index.js';
import { readJournal } from '../pool/journal.js';
import type { PoolDirectory } from '../pool/pool-directory.js';
import type { Observation } from '../resource-manager.js';
import type { LocalFacts } from './local-facts.js';
import { makeLocalHandle } from './local-handle.js';
import { observationOf } from './local-observation.js';
import type { ProcessInspection } from './process-inspection.js';

export type TokenSearch = {
  host: string;
  inspection: ProcessInspection;
  pools: PoolDirectory;
  facts: LocalFacts;
  tokens: readonly { token: string; folder: string }[];
};

/** `complete` false: something could not be looked at, so what is not found may be there. */
export async function searchTokens(
  search: TokenSearch
): Promise<{ complete: boolean; found: Observation['foreign'] }> {
  const found: Observation['foreign'][number][] = [];
  let complete = true;
  for (const { token, folder } of search.tokens) {
    const cluster = parseToken(token)?.cluster;
    if (cluster === undefined) {
      continue;
    }
    for (const poolFolder of await search.pools.poolFolders(folder)) {
      // A start is in the journal before the process runs: nothing is missed.
      const own = (await readJournal(join(poolFolder, 'journal.jsonl'))).filter(
        process => process.token === token
      );
      const attempt = Math.max(...own.map(process => process.attempt));
      const processes = own.filter(process => process.attempt === attempt);
      if (processes.length === 0) {
        continue;
      }
      const { handle, data } = await makeLocalHandle({
        ...search,
        folder,
        cluster,
        attempt,
        pool: basename(poolFolder),
        processes
      });
      const facts = (await search.facts.of([data])).get(data);
      if (facts?.type !== 'known') {
        complete = false;
        continue;
      }
      const { phase } = observationOf(handle, data, facts.processes);
      found.push({ token, handle, phase });
    }
  }
  return { complete, found };
}
