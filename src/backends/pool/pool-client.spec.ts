import { describe, expect, it } from '@jest/globals';
import { Duplex } from 'node:stream';
import { PoolClient } from './pool-client.js';
import type { PoolProcess } from './pool-messages.js';

/** A pool's end of the line, answering by hand. */
class Line extends Duplex {
  readonly requests: { n: number; op: string }[] = [];
  override _read(): void {
    return;
  }
  override _write(
    chunk: Buffer,
    _encoding: string,
    done: (error?: Error | null) => void
  ): void {
    for (const text of chunk.toString().trim().split('\n')) {
      this.requests.push(JSON.parse(text) as { n: number; op: string });
    }
    done();
  }
  say(text: string): void {
    this.push(text);
  }
}

const ended: PoolProcess = {
  id: 'a',
  attempt: 1,
  token: '',
  pid: 2,
  startTime: '3',
  mode: 'fork',
  state: 'ended',
  requested: false,
  started: '',
  ended: '',
  code: 0,
  signal: null,
  cause: null
};

function open() {
  const line = new Line();
  const client = new PoolClient(line);
  const exits: PoolProcess[] = [];
  let closed = 0;
  client.listen({
    exit: process => exits.push(process),
    closed: () => {
      closed++;
    }
  });
  return { line, client, exits, closed: () => closed };
}

describe('the line to a pool', () => {
  it('matches answers to questions, whatever their order and wherever they are cut', async () => {
    const { line, client, exits } = open();
    const first = client.shutdown(1000);
    const second = client.shutdown(1000);
    await new Promise(setImmediate);
    const [a, b] = line.requests.map(({ n }) => n);
    const text =
      `{"re":${b ?? 0},"ok":true,"running":2}\n` +
      `${JSON.stringify({ event: 'exit', process: ended })}\n` +
      `{"re":${a ?? 0},"ok":true,"running":1}\n`;
    for (const character of text) {
      line.say(character);
    }
    expect(await Promise.all([first, second])).toEqual([1, 2]);
    expect(exits).toEqual([ended]);
  });

  it("passes the pool's refusal on with its code", async () => {
    const { line, client } = open();
    const asked = client.shutdown(1000);
    await new Promise(setImmediate);
    line.say('{"re":1,"ok":false,"code":"draining","error":"it is ending"}\n');
    await expect(asked).rejects.toMatchObject({
      code: 'draining',
      message: 'it is ending'
    });
  });

  it('answers every open question when the line breaks, and says so once', async () => {
    const { line, client, closed } = open();
    const asked = client.shutdown(1000);
    line.destroy();
    await expect(asked).rejects.toMatchObject({ code: 'closed' });
    client.close();
    expect(closed()).toBe(1);
    await expect(client.shutdown(1000)).rejects.toMatchObject({
      code: 'closed'
    });
  });

  it('gives up on a pool that does not answer, and ignores it when it does', async () => {
    const { line, client } = open();
    await expect(client.shutdown(5)).rejects.toMatchObject({ code: 'timeout' });
    line.say('{"re":1,"ok":true,"running":0}\n');
    const again = client.shutdown(1000);
    await new Promise(setImmediate);
    line.say('{"re":2,"ok":true,"running":7}\n');
    expect(await again).toBe(7);
  });

  it.each(['hello?\n', '[]\n', '{"event":"surprise"}\n'])(
    'hangs up on somebody who is not a pool: %j',
    async text => {
      const { line, client } = open();
      line.say(text);
      await new Promise(setImmediate);
      expect(client.closed).toBe(true);
    }
  );

  it('refuses an answer of another shape', async () => {
    const { line, client } = open();
    const asked = client.shutdown(1000);
    await new Promise(setImmediate);
    line.say('{"re":1,"ok":true,"running":"many"}\n');
    await expect(asked).rejects.toMatchObject({ code: 'bad-reply' });
  });
});
