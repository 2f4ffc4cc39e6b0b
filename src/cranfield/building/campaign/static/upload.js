// Say at once that a file is too large, instead of after it was sent.
const form = document.getElementById("upload");
if (form) {
  const problem = document.getElementById("upload-problem");
  form.addEventListener("submit", (event) => {
    const file = form.elements.run.files[0];
    const most = Number(form.dataset.most);
    const large = file && file.size > most;
    problem.hidden = !large;
    if (large) {
      problem.textContent = `${file.name} has ${file.size.toLocaleString("en")} bytes, at most ${most.toLocaleString("en")} are allowed.`;
      event.preventDefault();
    } else {
      form.querySelector("button").disabled = true;
    }
  });
  window.addEventListener("pageshow", () => { form.querySelector("button").disabled = false; });
}
