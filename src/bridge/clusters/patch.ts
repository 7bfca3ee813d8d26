/** PATCH: the last word wins, a repeat changes nothing. PURE. */
import type {
  EventKind,
  ParsedPatch,
  ResolvedSpec
} from '../../protocol/index.js';
import {
  MusterError,
  describeScale,
  formatBytes,
  rangeOf
} from '../../protocol/index.js';
import type { ClusterRecord } from '../store/records.js';
import type { Limits } from './ports.js';
import { checkLimits, checkScale } from './resolve-spec.js';

export type PatchResult = {
  spec: ResolvedSpec;
  targets: Record<string, number>;
  events: { kind: EventKind; message: string; data: Record<string, unknown> }[];
};

export function applyPatch(
  record: ClusterRecord,
  patch: ParsedPatch,
  limits: Limits
): PatchResult {
  const events: PatchResult['events'] = [];
  const targets = { ...record.targets };
  const spec: ResolvedSpec = {
    ...record.spec,
    groups: [...record.spec.groups]
  };
  for (const [name, scale] of Object.entries(patch.scale ?? {})) {
    const index = spec.groups.findIndex(group => group.name === name);
    const group = spec.groups[index];
    if (group === undefined) {
      throw new MusterError({
        code: 'spec-invalid',
        path: `scale.${name}`,
        message: `scale.${name}: there is no group '${name}'`,
        hint: `one of: ${spec.groups.map(one => one.name).join(', ')}`
      });
    }
    const changed = { ...group, scale };
    checkScale(changed, `scale.${name}`);
    if (JSON.stringify(group.scale) === JSON.stringify(scale)) {
      continue;
    }
    // Going adaptive starts from what is there: nothing is thrown away or started for the switch.
    const before =
      group.scale.type === 'fixed'
        ? rangeOf(group).minimum
        : (targets[name] ?? rangeOf(group).minimum);
    const range = rangeOf(changed);
    targets[name] = Math.min(Math.max(before, range.minimum), range.maximum);
    spec.groups[index] = changed;
    events.push({
      kind: 'scaled',
      message: `${name}: ${describeScale(group.scale, formatBytes)} → ${describeScale(scale, formatBytes)}`,
      data: { group: name, from: group.scale, to: scale }
    });
  }
  if (events.length > 0) {
    checkLimits(spec.groups, limits);
  }
  if (patch.lifetime !== undefined) {
    const { onJupyterStop, idleTimeout, maximumAge } = patch.lifetime;
    const lifetime = {
      onJupyterStop: onJupyterStop ?? spec.lifetime.onJupyterStop,
      idleTimeout:
        idleTimeout === undefined ? spec.lifetime.idleTimeout : idleTimeout,
      maximumAge:
        maximumAge === undefined ? spec.lifetime.maximumAge : maximumAge
    };
    if (JSON.stringify(lifetime) !== JSON.stringify(spec.lifetime)) {
      spec.lifetime = lifetime;
      events.push({
        kind: 'lifetime-changed',
        message: 'Lifetime changed',
        data: { lifetime }
      });
    }
  }
  if (patch.name !== undefined && patch.name !== spec.name) {
    events.push({
      kind: 'renamed',
      message: `${spec.name} → ${patch.name}`,
      data: { from: spec.name, to: patch.name }
    });
    spec.name = patch.name;
  }
  return { spec, targets, events };
}
