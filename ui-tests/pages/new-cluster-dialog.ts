/** The dialog that makes a cluster. */
import { expect } from '@playwright/test';
import type { Locator, Page } from '@playwright/test';

export class NewClusterDialog {
  constructor(private readonly page: Page) {}

  get root(): Locator {
    return this.page.getByRole('dialog').filter({ hasText: 'New cluster' });
  }

  get create(): Locator {
    return this.root.getByRole('button', { name: 'Create', exact: true });
  }

  async name(text: string): Promise<void> {
    await this.root.getByLabel('Name', { exact: true }).first().fill(text);
  }

  /** Workers, cores or memory of the first group. */
  async size(amount: string): Promise<void> {
    const field = this.root
      .getByRole('textbox', { name: /^Size of group / })
      .first();
    await field.fill(amount);
    await field.press('Tab');
  }

  async cancel(): Promise<void> {
    await this.root.getByRole('button', { name: 'Cancel' }).last().click();
    await expect(this.root).toBeHidden();
  }

  async submit(): Promise<void> {
    await expect(this.create).toBeEnabled();
    await this.create.click();
    await expect(this.root).toBeHidden();
  }
}
