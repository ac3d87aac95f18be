self.oninstall = () => fetch("http://127.0.0.1:9/from-a-service-worker").catch(() => {});
