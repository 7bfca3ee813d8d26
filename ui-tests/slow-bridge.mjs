// Stands in for the bridge's program (see server-states.ts): twelve seconds late, then the real one.
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';

await sleep(12_000);
await import(pathToFileURL(process.env['MUSTER_TEST_BRIDGE'] ?? '').href);
