/** Failures users of other software reported, as inputs with the right behaviour (cases F). */
import { describe, expect, it } from '@jest/globals';
import { readNativeDuration } from '../batch/walltime.js';
import { filesOf } from './fixtures/cases.js';
import { expandHostList, readAllocation, timeLeftFrom } from './index.js';

function nodesOf(
  env: Record<string, string>,
  files: Record<string, string> = {}
) {
  const answer = readAllocation(env, filesOf(files), {
    here: { host: 'login1', cpus: 128 }
  });
  if (answer.state !== 'allocation') {
    throw new Error(JSON.stringify(answer));
  }
  return answer.allocation.nodes;
}

describe('inside an allocation', () => {
  it('F1: SLURM_JOB_CPUS_PER_NODE=20 counts, not the 128 cpus the operating system shows', () => {
    const [node] = nodesOf({
      SLURM_JOB_ID: '7',
      SLURM_JOB_NODELIST: 'n1',
      SLURM_JOB_CPUS_PER_NODE: '20'
    });
    expect(node).toMatchObject({ host: 'n1', cpus: 20 });
  });

  it('F3: LSF slots are not cores: 1 and 3 slots of 7 cores are 7 and 21 cores', () => {
    const nodes = nodesOf(
      {
        LSB_JOBID: '7',
        LSB_MCPU_HOSTS: 'h1 1 h2 3',
        LSB_AFFINITY_HOSTFILE: '/aff'
      },
      { '/aff': 'h1 0,1,2,3,4,5,6\nh2 0-6\nh2 7-13\nh2 14-20\n' }
    );
    expect(nodes.map(node => [node.host, node.tasks, node.cpus])).toEqual([
      ['h1', 1, 7],
      ['h2', 3, 21]
    ]);
  });

  it('F4: rack[0-1]_blade[0-1] are 4 hosts, the last bracket fastest', () => {
    expect(expandHostList('rack[0-1]_blade[0-1]')).toEqual([
      'rack0_blade0',
      'rack0_blade1',
      'rack1_blade0',
      'rack1_blade1'
    ]);
  });

  it.each(['infinite', 'INFINITE', 'UNLIMITED'])(
    'F5: the limit %s is no limit, not 00:00:00',
    text => {
      expect(readNativeDuration('slurm', text)).toBe('unlimited');
      const left = timeLeftFrom(
        { SLURM_JOB_ID: '7' },
        {
          readFile: () => null,
          answers: {
            'squeue -h -j 7 -o %T|%L': {
              rc: 0,
              stdout: `RUNNING|${text}\n`,
              stderr: ''
            }
          },
          nowMs: 0
        }
      );
      expect(left.seconds).toBeNull();
    }
  );
});
