location.href = "/react/";
