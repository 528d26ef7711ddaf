// Before anything is drawn: the colours that were chosen the last time.
document.documentElement.dataset.scripts = "on";
try {
  const theme = localStorage.getItem("mindshare-theme");
  if (theme) document.documentElement.dataset.theme = theme;
} catch { /* no storage */ }
