import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { errorBodySchema } from '../../protocol/index.js';
import { HOSTILE_FIELDS } from '../../protocol/fixtures/hostile-fields.js';
import { apiFixture, HEADERS } from './fixtures/api-fixture.js';
import type { ApiFixture } from './fixtures/api-fixture.js';

let api: ApiFixture;

beforeAll(async () => {
  api = await apiFixture();
});

afterAll(async () => {
  await api.close();
});

describe.each(['clusters', 'preview'])('POST %s', route => {
  test.each(HOSTILE_FIELDS.map(field => [field.path, field] as const))(
    'is 400 naming %s where that is wrong, and nothing is asked of the clusters',
    async (path, field) => {
      for (const value of field.values) {
        let answer;
        do {
          answer = await api.server.app.inject({
            method: 'POST',
            url: `/api/v1/${route}`,
            headers: HEADERS,
            payload: field.request(value) as object
          });
        } while (answer.statusCode === 429);
        const shown = JSON.stringify(value).slice(0, 60);
        expect([shown, answer.statusCode]).toEqual([shown, 400]);
        const { error } = errorBodySchema.parse(answer.json());
        expect([shown, error.code]).toEqual([shown, 'spec-invalid']);
        expect([shown, error.path?.startsWith(path)]).toEqual([shown, true]);
      }
      expect(api.service.calls).toEqual([]);
    }
  );
});
