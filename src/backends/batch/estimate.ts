/** "When would it start?" – without submitting (sbatch --test-only, qsub -w v). Pure. */
import { instant } from './decode.js';
import type { CommandOutput, EstimateResult } from './results.js';
import type { SystemFacts } from './specification.js';
import { classify } from './submit.js';

export function parseEstimate(
  facts: SystemFacts,
  output: CommandOutput
): EstimateResult {
  const text = `${output.stderr}\n${output.stdout}`.replaceAll('\r', '');
  const message = text.trim();
  const rules = facts.estimate;
  if (rules === undefined) {
    return { type: 'none', message: `${facts.title} does not tell` };
  }
  const any = (patterns: readonly string[]): boolean =>
    patterns.some(one => new RegExp(one, 'imu').test(text));
  if (
    output.timedOut === true ||
    (output.rc !== 0 && any(facts.answers.unreachable))
  ) {
    return { type: 'unknown', message };
  }
  const at = rules.time
    .map(one => new RegExp(one, 'imu').exec(text)?.groups?.['at'])
    .map(found =>
      found === undefined ? null : instant({ text: found, as: 'time' })
    )
    .find(found => found !== null);
  if (typeof at === 'string') {
    return { type: 'time', at };
  }
  if (
    any(rules.impossible) ||
    (output.rc !== 0 && classify(facts, text).reason !== 'other')
  ) {
    return { type: 'impossible', ...classify(facts, text), message };
  }
  return output.rc === 0
    ? { type: 'none', message }
    : { type: 'unknown', message };
}
