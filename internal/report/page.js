for (const table of document.querySelectorAll('table')) {
  const head = [...table.tHead.rows[0].cells];
  head.forEach((th, i) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.append(...th.childNodes);
    th.append(button);
    button.addEventListener('click', () => {
      const up = th.getAttribute('aria-sort') === 'descending';
      for (const other of head) other.removeAttribute('aria-sort');
      th.setAttribute('aria-sort', up ? 'ascending' : 'descending');
      const of = (row) => row.cells[i].dataset.v ?? row.cells[i].textContent;
      const text = th.classList.contains('l');
      const rows = [...table.tBodies[0].rows];
      rows.sort((a, b) => {
        const [x, y] = [of(a), of(b)];
        const n = text ? x.localeCompare(y) : (x === '' ? -Infinity : Number(x)) - (y === '' ? -Infinity : Number(y)) || 0;
        return up ? n : -n;
      });
      table.tBodies[0].append(...rows);
    });
  });
}
