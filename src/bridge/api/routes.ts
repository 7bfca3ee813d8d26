/** The route table of `api/v1/` (specs/api.md §2): routing, the gate's tests and OpenAPI all read it. */
import { MusterError } from '../../protocol/index.js';
import { bridgeRoutes } from './bridge-routes.js';
import { detailRoutes } from './cluster-detail-routes.js';
import { clusterRoutes } from './cluster-routes.js';
import type { Route } from './route.js';

/** Every route below `/api/v1/`. The event stream (an upgrade) and the dashboards are beside it. */
export const ROUTES: readonly Route[] = [
  ...bridgeRoutes,
  ...clusterRoutes,
  ...detailRoutes
];

/** What every route answers with while records are being loaded. */
export function startingError(): MusterError {
  return new MusterError({
    code: 'bridge-starting',
    message: 'the bridge is reading its records; try again in a moment'
  });
}
