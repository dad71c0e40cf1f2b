// Draws the Mermaid diagrams of a page, in light or dark as the book's theme. Without JavaScript, readers see their text.
const sources = document.querySelectorAll('pre > code.language-mermaid');

async function draw(diagrams) {
    const isDark = /coal|navy|ayu/.test(document.documentElement.className);
    mermaid.initialize({ startOnLoad: false, theme: isDark ? 'dark' : 'neutral' });
    for (const [at, { text, figure }] of diagrams.entries()) {
        figure.innerHTML = (await mermaid.render(`diagram-${at}`, text)).svg;
    }
}

if (sources.length > 0) {
    const script = document.createElement('script');
    script.src = `${path_to_root}mermaid.tiny.js`;
    script.onload = () => {
        const diagrams = [...sources].map((source) => {
            const figure = document.createElement('div');
            source.parentElement.replaceWith(figure);
            return { text: source.textContent, figure };
        });
        draw(diagrams);
        new MutationObserver(() => draw(diagrams)).observe(document.documentElement, { attributeFilter: ['class'] });
    };
    document.head.append(script);
}
