// It notes something, begins anew, and goes on from what it noted.
if (sessionStorage.getItem("seen")) {
  document.getElementById("root").textContent = "Text that came at the second time.";
} else {
  sessionStorage.setItem("seen", "yes");
  location.reload();
}
