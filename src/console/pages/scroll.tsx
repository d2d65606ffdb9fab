import type { ComponentChildren } from "preact";

/** What may be wider than the window: it scrolls by itself, by keyboard too. */
export const Scroll = ({ children, name }: { readonly children: ComponentChildren; readonly name: string }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls has to be reached by keyboard
  <section class="scroll" aria-label={name} tabIndex={0}>
    {children}
  </section>
);

export const Shown = ({ children, testId }: { readonly children: string; readonly testId?: string }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls has to be reached by keyboard
  <pre tabIndex={0} data-testid={testId}>
    {children}
  </pre>
);
