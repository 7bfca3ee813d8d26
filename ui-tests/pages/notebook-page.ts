/** The notebook in front: its cells, its kernel, its cluster picker. */
import type { IJupyterLabPageFixture } from '@jupyterlab/galata';
import { expect } from '@playwright/test';
import type { Locator, Page } from '@playwright/test';

/** A picture of a whole computation takes its time on two busy cores. */
const RUN_LIMIT = 90_000;

export class NotebookPage {
  constructor(private readonly page: Page | IJupyterLabPageFixture) {}

  get panel(): Locator {
    return this.page.locator('.jp-NotebookPanel:not(.lm-mod-hidden)');
  }

  get cells(): Locator {
    return this.panel.locator('.jp-Notebook .jp-Cell');
  }

  get picker(): Locator {
    return this.panel.getByRole('button', { name: /^Cluster: / });
  }

  /** A new notebook whose kernel has started. */
  async create(name: string): Promise<void> {
    await (this.page as IJupyterLabPageFixture).notebook.createNew(name);
    await this.kernelIsIdle();
  }

  async kernelIsIdle(): Promise<void> {
    await expect(
      this.panel.locator('.jp-Notebook-ExecutionIndicator')
    ).toHaveAttribute('data-status', 'idle', { timeout: RUN_LIMIT });
  }

  async setSource(index: number, code: string): Promise<void> {
    const input = this.cells.nth(index).locator('.cm-content');
    await input.click();
    await input.fill(code);
  }

  /** A cell at the end. */
  async addCell(code: string): Promise<void> {
    const count = await this.cells.count();
    await this.source(count - 1).click();
    await this.page.keyboard.press('Escape');
    await this.page.keyboard.press('b');
    await expect(this.cells).toHaveCount(count + 1);
    await this.setSource(count, code);
  }

  source(index: number): Locator {
    return this.cells.nth(index).locator('.cm-content');
  }

  output(index: number): Locator {
    return this.cells.nth(index).locator('.jp-OutputArea-output');
  }

  /**
   * Run a cell and wait for its end; an error in it fails the test. By the command that the key is
   * bound to, because its promise tells the end: a prompt may still show the number of before.
   */
  async run(index: number): Promise<void> {
    await this.source(index).click();
    await this.page.evaluate(() =>
      (window as unknown as LabWindow).jupyterapp.commands.execute(
        'notebook:run-cell'
      )
    );
    await this.hasRun(index);
  }

  async begin(index: number): Promise<void> {
    await this.source(index).click();
    await this.page.keyboard.press('Control+Enter');
  }

  async hasRun(index: number): Promise<void> {
    const cell = this.cells.nth(index);
    await expect(cell.locator('.jp-InputPrompt')).toHaveText(/\[\d+\]/, {
      timeout: RUN_LIMIT
    });
    await expect(
      cell.locator('[data-mime-type="application/vnd.jupyter.error"]'),
      'the cell must not fail'
    ).toHaveCount(0);
  }

  /** Replace what a cell says, run it, and hand back what it prints. */
  async compute(index: number, code: string): Promise<string> {
    await this.setSource(index, code);
    await this.run(index);
    return (await this.output(index).allInnerTexts()).join('\n').trim();
  }

  async restart(): Promise<void> {
    await this.panel
      .getByRole('button', { name: 'Restart the kernel', exact: true })
      .click();
    await this.confirmRestart();
  }

  async restartAndRunAll(): Promise<void> {
    await this.panel
      .getByRole('button', { name: 'Restart the kernel and run all cells' })
      .click();
    await this.confirmRestart();
  }

  async choose(cluster: string): Promise<void> {
    await this.openPicker();
    await this.page
      .locator('.jp-MusterPickerMenu')
      .getByRole('menuitem', { name: new RegExp(cluster) })
      .first()
      .click();
  }

  async openPicker(): Promise<Locator> {
    await this.picker.click();
    const menu = this.page.locator('.jp-MusterPickerMenu');
    await expect(menu).toBeVisible();
    return menu;
  }

  private async confirmRestart(): Promise<void> {
    const dialog = this.page.getByRole('dialog');
    await dialog
      .getByRole('button', { name: 'Confirm Kernel Restart' })
      .click();
    await expect(dialog).toBeHidden();
  }
}

type LabWindow = {
  jupyterapp: { commands: { execute: (id: string) => Promise<unknown> } };
};
